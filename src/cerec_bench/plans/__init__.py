"""What is computed: systems, explainers, and experiments made of both, all over the same cells."""

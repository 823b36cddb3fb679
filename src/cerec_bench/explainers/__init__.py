"""Are the explanations right? Every explainer on the same pairs, scored by the same rules."""

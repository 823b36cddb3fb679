"""Do answers hold, is what is said of that true, and are the answers themselves true?"""

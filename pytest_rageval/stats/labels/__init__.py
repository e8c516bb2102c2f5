"""What labels of people tell: agreement with a judge, corrected means, what to label next."""

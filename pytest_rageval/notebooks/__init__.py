"""What notebooks need: data frames in and out, results that show themselves, progress."""

"""What models and targets replied, on disk: keys, replies, scores."""

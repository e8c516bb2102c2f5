"""Control rows: samples that any judge should tell apart, for each metric that a model scores."""

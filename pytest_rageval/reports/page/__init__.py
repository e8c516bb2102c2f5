"""What ``report.html`` is made of: the data of a run, and the page that shows and weighs it."""

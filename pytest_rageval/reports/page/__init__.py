"""The parts of ``report.html``: the data of a run, and the page that shows and weighs it."""

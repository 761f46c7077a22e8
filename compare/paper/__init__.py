"""The paper: docs/paper/paper.md.j2 with numbers that stored results give, as a PDF. `make paper`."""

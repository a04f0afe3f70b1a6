"""What our processes say to each other: events, jobs, orders."""

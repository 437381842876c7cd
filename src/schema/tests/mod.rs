//! Odd forms one by one.

mod odd;

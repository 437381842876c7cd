use super::List;

/// The selected packet of a [`List`], and the part of the list that is on the screen.
#[derive(Debug)]
pub struct Cursor {
    selected: Option<u64>,
    /// What is selected as packets come.
    keeps: Keeps,
    top: u64,
    height: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// The first packet, until a person selects another one.
    First,
    /// The newest one.
    Newest,
    /// The one that a person has selected.
    Selected,
}

impl Cursor {
    /// Creates a cursor that follows the newest packet, on a screen of `height` rows.
    #[must_use]
    pub fn new(height: usize) -> Self {
        Self { selected: None, keeps: Keeps::Newest, top: 0, height }
    }

    /// Creates a cursor at the first packet of the list, on a screen of `height` rows.
    #[must_use]
    pub fn at_first(height: usize) -> Self {
        Self { keeps: Keeps::First, ..Self::new(height) }
    }

    /// Goes on after the list has changed or found more. With `ended`, no more packets will come.
    ///
    /// A selected packet that is not in the list any more gives way to the next one, or to the one before it.
    pub fn settle(&mut self, list: &List, ended: bool) {
        let complete = list.is_complete();
        if complete && let Some(row) = self.selected.filter(|row| !list.matches().has(*row)) {
            self.selected = list.after(row).or_else(|| list.before(row));
        }
        match self.keeps {
            Keeps::First => self.selected = list.nth(0),
            Keeps::Selected if self.selected.is_some() => {}
            Keeps::Newest | Keeps::Selected => self.selected = list.newest(),
        }
        if ended && complete && self.selected.is_some() {
            self.keeps = Keeps::Selected;
        }
        self.scroll(list);
    }

    /// Selects a row of the list, and stops following.
    pub fn select(&mut self, list: &List, row: u64) {
        self.keeps = Keeps::Selected;
        self.selected = Some(row);
        self.scroll(list);
    }

    /// Selects the packet at an index, or the last one, and stops following.
    pub fn select_index(&mut self, list: &List, index: u64) {
        self.keeps = Keeps::Selected;
        if let Some(row) = list.nth(index.min(list.count().saturating_sub(1))) {
            self.select(list, row);
        }
    }

    /// Selects the packet in a row of the screen, from 0, and stops following. Does nothing where there is none.
    pub fn select_shown(&mut self, list: &List, row: usize) {
        if let Some(row) = self.visible(list).nth(row) {
            self.select(list, row);
        }
    }

    /// Moves by a number of packets, and stops following.
    pub fn move_by(&mut self, list: &List, rows: i64) {
        self.select_index(list, self.index(list).saturating_add_signed(rows));
    }

    /// Follows the newest packet from the next [`settle`](Self::settle) on, or stays where it is.
    pub fn set_follows(&mut self, follows: bool) {
        self.keeps = if follows { Keeps::Newest } else { Keeps::Selected };
    }

    /// Changes the number of rows on the screen.
    pub fn set_height(&mut self, list: &List, height: usize) {
        self.height = height;
        self.scroll(list);
    }

    /// The row of the selected packet.
    #[must_use]
    pub fn selected(&self) -> Option<u64> {
        self.selected
    }

    /// Returns `true` while the newest packet is selected as packets come. That ends when a person selects another
    /// one, or no more will come.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.keeps == Keeps::Newest
    }

    /// The index of the first row on the screen.
    #[must_use]
    pub fn top(&self) -> u64 {
        self.top
    }

    /// The number of rows on the screen.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the rows on the screen, in order.
    pub fn visible<'a>(&self, list: &'a List) -> impl Iterator<Item = u64> + use<'a> {
        list.rows(self.top, self.height)
    }

    fn index(&self, list: &List) -> u64 {
        self.selected.map_or(0, |row| list.index_of(row))
    }

    /// Keeps the selected packet on the screen, and the screen full if there are so many packets.
    fn scroll(&mut self, list: &List) {
        let (count, height) = (list.count(), self.height.max(1) as u64);
        let index = self.index(list).min(count.saturating_sub(1));
        let lowest = (index + 1).saturating_sub(height);
        let highest = index.min(count.saturating_sub(height));
        self.top = self.top.clamp(lowest, highest.max(lowest));
    }
}

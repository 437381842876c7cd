use mitmcraft_protocol::wire::named;

named! {
    /// A rule about what a client sends, whose versions are rows of `client.toml`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ClientRule {
        /// A second move in a tick.
        MoveTwice => "move-twice",
        /// Moves of a client that has never sent `tick_end`.
        TickEndMissing => "tick-end-missing",
        /// An action after the move of its tick.
        MoveNotLast => "move-not-last",
        /// More than 20 ticks without a position.
        PositionOverdue => "position-overdue",
        /// A position that is the last one, before it is due.
        PositionRepeated => "position-repeated",
        /// A look that is the last one.
        LookRepeated => "look-repeated",
        /// A move without place and look that says nothing new.
        StatusRepeated => "status-repeated",
        /// A pitch beyond 90 degrees.
        PitchInvalid => "pitch-invalid",
        /// A move before the server has placed the player.
        MoveEarly => "move-early",
        /// An action or a move before `player_loaded`.
        LoadingActed => "loading-acted",
        /// A second `player_loaded` in a world.
        LoadedTwice => "loaded-twice",
        /// A confirmed teleport without the move that goes with it.
        TeleportEcho => "teleport-echo",
        /// The slot that was selected last.
        SlotRepeated => "slot-repeated",
        /// A selected slot after an attack or use of the same tick.
        SlotLate => "slot-late",
        /// A click after sneaking or sprinting of the same tick.
        ClickLate => "click-late",
        /// Sneaking, input and sprinting in another order.
        SprintOrder => "sprint-order",
        /// The start or stop of sprinting twice.
        SprintRepeated => "sprint-repeated",
        /// The start or stop of sneaking twice.
        SneakRepeated => "sneak-repeated",
        /// Keys that have not changed.
        InputRepeated => "input-repeated",
        /// An attack without a swing, or on the wrong side of it.
        SwingOrder => "swing-order",
        /// An interaction without the one that says where.
        InteractOrder => "interact-order",
        /// The off hand before the main hand.
        HandOrder => "hand-order",
        /// The use of an item in 1.8 in another form.
        UseForm => "use-form",
        /// The use of an item without the look that precedes it.
        UseWithoutLook => "use-without-look",
        /// Two blocks in a tick.
        PlaceTwice => "place-twice",
        /// The release of an item that is not in use.
        ReleaseUnused => "release-unused",
        /// A place, face or number where the action has none.
        ActionPlace => "action-place",
        /// The end of digging another block than was begun.
        DigOrder => "dig-order",
        /// A number of an action that is not the next.
        SequenceOrder => "sequence-order",
        /// Steering without a vehicle.
        SteerOnFoot => "steer-on-foot",
        /// Flying that the server has not allowed.
        FlightForbidden => "flight-forbidden",
        /// An attack of the player on itself.
        AttackSelf => "attack-self",
        /// An attack of what cannot be attacked.
        AttackInvalid => "attack-invalid",
        /// An action of another entity than the player.
        ActionEntity => "action-entity",
        /// A button that the mode of a click does not have.
        ClickForm => "click-form",
        /// A click in an inventory that was not opened.
        InventoryUnopened => "inventory-unopened",
        /// A click in the window of a lectern.
        LecternClicked => "lectern-clicked",
        /// A click in a window that is not open.
        WindowUnknown => "window-unknown",
        /// A click in a state of a window that the server has not sent.
        WindowState => "window-state",
        /// An item of creative mode outside of it.
        CreativeSlot => "creative-slot",
        /// A spectator's action of another player.
        SpectateAlive => "spectate-alive",
        /// A respawn of a living player.
        RespawnAlive => "respawn-alive",
        /// Something before brand and settings, or these in another order.
        SettingsOrder => "settings-order",
        /// A view distance below 2.
        ViewDistance => "view-distance",
        /// A signed message that is older than the one before it.
        ChatTime => "chat-time",
        /// An acknowledgement of messages that the server has not sent.
        ChatUnseen => "chat-unseen",
        /// More messages without an acknowledgement than a server waits for.
        ChatPending => "chat-pending",
        /// A number of a completion that is not the next.
        CompletionNumber => "completion-number",
        /// A sign whose editor is not open.
        SignUnasked => "sign-unasked",
        /// A request, or a name, for the second time in a connection.
        RequestTwice => "request-twice",
        /// A great turn between small ones.
        YawJumped => "yaw-jumped",
        /// An answer to what the server has not asked.
        AnswerUnasked => "answer-unasked",
        /// An answer before that to an earlier question.
        AnswerOrder => "answer-order",
        /// A question without an answer.
        AnswerMissing => "answer-missing",
    }

    /// All rules.
    pub const ALL;

    /// Returns the name: `move-twice`.
    pub fn name;
}

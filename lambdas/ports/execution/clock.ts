/** The only source of time, ids and randomness for the code above the adapters, so that tests can control them. */

export interface Clock {
  /** Returns milliseconds since 1970, UTC. Never returns less than before, unless an operator has declared the earlier time wrong. */
  now(): number
  /** Returns a random UUID in lower case. */
  newId(): string
}

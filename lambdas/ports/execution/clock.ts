/** Source of time and of ids for the code above the adapters, so that tests can control them. */

export interface Clock {
  /**
   * Returns milliseconds since 1970, UTC. Never returns less than an earlier call, unless an operator has declared that earlier time wrong.
   */
  now(): number
  /** Returns a random UUID in lower case. */
  newId(): string
}

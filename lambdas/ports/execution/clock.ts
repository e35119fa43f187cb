/** Time, ids and randomness: the only place the server gets them from. */

export interface Clock {
  /** Milliseconds since 1970, UTC. Never smaller than an earlier answer of the same clock, unless a person has said that that one was wrong. */
  now(): number
  /** A random UUID, lower case. */
  newId(): string
}

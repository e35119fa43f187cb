/** Settled instants. An export waits until its instant is settled, so that two consecutive exports together miss no version. */
export interface SettledVersions {
  /**
   * Whether no version with lastUpdated ≤ `instant` can appear in the tenant any more: no such commit is in progress, and readers see all
   * that were committed. `instant` must lie in the past. A commit that begins later with such a stamp writes nothing: it is `late`, or
   * throws the fault `overloaded`.
   */
  settled(tenant: string, instant: number): Promise<boolean>
}

/** From when on what was written until an instant is all there is: what an export waits for, so that two that follow each other miss nothing. */
export interface SettledVersions {
  /**
   * Whether no version with lastUpdated ≤ instant can appear in the tenant any more: none is on its way in, and readers see all that were committed.
   * `instant` has passed. A commit that comes with such a stamp later, however long it took, writes nothing: it is `late`, or Overloaded.
   */
  settled(tenant: string, instant: number): Promise<boolean>
}

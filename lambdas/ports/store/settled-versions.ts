/** Settled instants: an export waits until its instant is settled, so that two consecutive exports miss no version. */
export interface SettledVersions {
  /**
   * Whether no version with lastUpdated ≤ instant can appear in the tenant any more: no such commit is in progress, and readers see all
   * that were committed. `instant` lies in the past. A commit that arrives later with such a stamp writes nothing, however long it took: it
   * is `late`, or throws the fault `overloaded`.
   */
  settled(tenant: string, instant: number): Promise<boolean>
}

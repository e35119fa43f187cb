/** Returns a writer that throws ClockJumped while the clock is implausible, because the timestamps of versions would be wrong. */
import type { RequestWriter } from '../../interactions/interaction.ts'
import { ClockJumped } from '../../ports/faults/clock-jumped.ts'

export const clockCheckedWriter = (writer: RequestWriter, clock: { readonly mayStamp: () => boolean }): RequestWriter => ({
  async commit(writes, guards, by) {
    if (!clock.mayStamp()) throw new ClockJumped('the clock jumped')
    return writer.commit(writes, guards, by)
  },
})

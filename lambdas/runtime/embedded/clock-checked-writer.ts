/**
 * Returns a writer that throws the fault `clock-jumped` while the clock is implausible, because new versions would get wrong timestamps.
 */
import type { RequestWriter } from '../../interactions/interaction.ts'
import { MachineFault } from '../../ports/faults.ts'

export const clockCheckedWriter = (writer: RequestWriter, clock: { readonly mayStamp: () => boolean }): RequestWriter => ({
  async commit(writes, guards, by) {
    if (!clock.mayStamp()) throw new MachineFault('clock-jumped', 'the clock jumped')
    return writer.commit(writes, guards, by)
  },
})

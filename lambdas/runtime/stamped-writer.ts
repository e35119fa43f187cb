/** Refuses writes whose stamps cannot be believed. */
import { ClockJumped } from '../ports/clock-jumped.ts'
import type { ResourceWriter } from '../ports/resource-store.ts'

export const stampedWriter = (writer: ResourceWriter, clock: { readonly mayStamp: () => boolean }): ResourceWriter => ({
  async commit(writes, guards) {
    if (!clock.mayStamp()) throw new ClockJumped('the clock jumped')
    return writer.commit(writes, guards)
  },
})

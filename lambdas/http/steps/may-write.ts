/** Rejects all writes while the operator has stopped them, before a body is parsed or a store is read. */
import { MachineFault } from '../../ports/faults.ts'
import type { Step } from '../exchange.ts'

export type WriteMode = 'on' | 'stopped'

export const checkWritesEnabled = (writes: WriteMode): Step => ({
  before() {
    if (writes === 'stopped') throw new MachineFault('writes-stopped', 'writes are stopped')
  },
})

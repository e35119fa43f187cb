/** Rejects writes of every caller while writes are stopped, before a body is parsed or a store is read. */
import { WritesStopped } from '../../ports/faults/writes-stopped.ts'
import type { Step } from '../exchange.ts'

export type WriteMode = 'on' | 'stopped'

export const checkWritesEnabled = (writes: WriteMode): Step => ({
  before() {
    if (writes === 'stopped') throw new WritesStopped('writes are stopped')
  },
})

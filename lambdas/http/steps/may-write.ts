/** While writes are stopped nothing is stored, whoever asks: said before a body is read, or anything is looked up. */
import { WritesStopped } from '../../ports/faults/writes-stopped.ts'
import type { Step } from '../exchange.ts'

export type WriteMode = 'on' | 'stopped'

export const checkWritesEnabled = (writes: WriteMode): Step => ({
  before() {
    if (writes === 'stopped') throw new WritesStopped('writes are stopped')
  },
})

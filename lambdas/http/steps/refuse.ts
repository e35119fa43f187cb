/** Steps that reject a request whatever its content, before a body is parsed or a store is read. */
import { MachineFault } from '../../ports/faults.ts'
import type { Step } from '../exchange.ts'

/**
 * Throws the error of a request that was rejected before it reached an interaction. Examples are a request without a route, or to a busy
 * server.
 */
export const refuse: Step = {
  before({ event: { http } }) {
    if (http.refused !== undefined) throw http.refused
  },
}

export type WriteMode = 'on' | 'stopped'

/** Rejects all writes while the operator has stopped them. */
export const checkWritesEnabled = (writes: WriteMode): Step => ({
  before() {
    if (writes === 'stopped') throw new MachineFault('writes-stopped', 'writes are stopped')
  },
})

/**
 * Throws the error of a request that was rejected before it reached an interaction. Examples are a request without a route, or to a busy
 * server.
 */
import type { Step } from '../exchange.ts'

export const refuse: Step = {
  before({ event: { http } }) {
    if (http.refused !== undefined) throw http.refused
  },
}

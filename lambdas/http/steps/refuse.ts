/** Answers requests that were rejected before they reached an interaction: no route, another base, a busy server. */
import type { Step } from '../exchange.ts'

export const refuse: Step = {
  before({ event: { http } }) {
    if (http.refused !== undefined) throw http.refused
  },
}

/** Checks the scopes of the caller before a body is parsed or a store is read. */
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import { checkScope as check } from '../../interactions/resources/scope-check.ts'
import { requestOf, type Step } from '../exchange.ts'

export const checkScope: Step = {
  before({ event: exchange }) {
    // Only FHIR interactions use this step, so the cast is safe.
    check(requestOf(exchange, exchange.interaction as InteractionCode))
  },
}

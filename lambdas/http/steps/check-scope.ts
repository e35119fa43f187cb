/** What is asked for is in scope: said before a body is read, or anything is looked up. */
import type { InteractionCode } from '../../catalogue/routes.ts'
import { checkScope as check } from '../../interactions/resources/scope-check.ts'
import { requestOf, type Step } from '../exchange.ts'

export const checkScope: Step = {
  before({ event: exchange }) {
    // It stands on interactions only.
    check(requestOf(exchange, exchange.interaction as InteractionCode))
  },
}

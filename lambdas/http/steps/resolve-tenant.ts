/** Whose data the request is about. Without tenancy everything belongs to one tenant. */
import type { Caller } from '../../interactions/interaction.ts'
import type { Step } from '../exchange.ts'

export const TENANT = 'default'

const CALLER: Caller = { tenant: TENANT }

export const resolveTenant: Step = {
  before({ event: exchange }) {
    exchange.caller = CALLER
  },
}

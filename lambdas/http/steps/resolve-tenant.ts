/** Whose data the request is about. Without tenancy everything belongs to one tenant. */
import type { Caller } from '../../interactions/interaction.ts'
import type { Step } from '../exchange.ts'

export const TENANT = 'default'

/** Who asks where nobody is asked who they are. */
const CLIENT = 'open'

const CALLER: Caller = { tenant: TENANT, client: CLIENT }

export const resolveTenant: Step = {
  before({ event: exchange }) {
    exchange.caller = CALLER
  },
}

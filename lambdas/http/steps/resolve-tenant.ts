/** Whose data the request is about. Without tenancy everything belongs to one tenant. */
import type { Step } from '../exchange.ts'

export const TENANT = 'default'

export const resolveTenant: Step = {
  before({ event: exchange }) {
    exchange.fhir = { ...exchange.fhir, tenant: TENANT }
  },
}

/** Where only this machine may ask, Host and Origin must name it, or a page of another site could (DNS rebinding). */
import { fhirError } from '../../fhir/outcome.ts'
import type { Step } from '../exchange.ts'

export const checkHost = (loopbackOnly: boolean): Step => ({
  before({
    event: {
      http: { headers },
    },
  }) {
    // guard: host-is-loopback
    if (loopbackOnly && !(isLoopback(headers.host) && isLoopback(headers.origin?.replace(/^https?:\/\//, ''))))
      throw fhirError(
        403,
        'security',
        'This server answers only to local names: Host and Origin must be loopback addresses, as its base URL is',
      )
  },
})

/** A host, perhaps with its port. */
export const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const isLoopback = (host: string | undefined): boolean => host === undefined || LOOPBACK.test(host)

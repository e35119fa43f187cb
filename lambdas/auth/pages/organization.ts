/** Name of the organization that runs the server, for its pages. */
import type { AuthPorts, AuthRequest } from '../endpoint.ts'

type Choices = Pick<AuthPorts, 'choices'>

/** Returns the configured name of the organization, or the host of the base URL if none is configured. */
export const organizationOf = ({ choices }: Choices, { baseUrl }: AuthRequest): string =>
  choices.organizationName === '' ? new URL(baseUrl).host : choices.organizationName

/** Returns the properties that all forms of a server have in common. */
export const frameOf = (ports: Choices, request: AuthRequest) => ({
  organization: organizationOf(ports, request),
  account: `${request.baseUrl}/auth/account`,
})

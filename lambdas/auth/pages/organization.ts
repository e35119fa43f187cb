/** Organization that runs the server, as its pages name it. */
import type { AuthPorts, AuthRequest } from '../endpoint.ts'

type Choices = Pick<AuthPorts, 'choices'>

/** Returns the host of the base URL if no name is set, so that users at least see the host. */
export const organizationOf = ({ choices }: Choices, { baseUrl }: AuthRequest): string =>
  choices.organizationName === '' ? new URL(baseUrl).host : choices.organizationName

/** Returns the parts of a page that do not depend on its form. */
export const frameOf = (ports: Choices, request: AuthRequest) => ({
  organization: organizationOf(ports, request),
  account: `${request.baseUrl}/auth/account`,
})

/** All endpoints of the authorization server by code, for a deployment that serves them in one process. */
import type { AuthPorts, Endpoint } from '../endpoint.ts'
import { pageEndpoints } from '../pages/page-endpoints.ts'
import { openidConfiguration, smartConfiguration } from './discovery.ts'
import { introspect } from './introspection-endpoint.ts'
import { jwks } from './jwks-endpoint.ts'
import { register } from './registration-endpoint.ts'
import { revoke } from './revocation-endpoint.ts'
import { token } from './token-endpoint.ts'

export const endpoints = (ports: AuthPorts) =>
  ({
    'smart-configuration': smartConfiguration(ports.choices),
    'openid-configuration': openidConfiguration(ports.choices),
    jwks: jwks(ports),
    token: token(ports),
    introspect: introspect(ports),
    revoke: revoke(ports),
    register: register(ports),
    ...pageEndpoints(ports),
  }) satisfies Readonly<Record<string, Endpoint>>

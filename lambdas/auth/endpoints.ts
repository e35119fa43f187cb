/** Every endpoint of the authorization server, in one process. */

import { account, logout } from './account.ts'
import { authorize, consent } from './authorize.ts'
import { openidConfiguration, smartConfiguration } from './discovery.ts'
import type { AuthPorts, Endpoint } from './endpoint.ts'
import { introspect } from './introspect.ts'
import { jwks } from './jwks.ts'
import { login } from './login.ts'
import { revoke } from './revoke.ts'
import { style } from './style.ts'
import { token } from './token.ts'

export const endpoints = (ports: AuthPorts) =>
  ({
    'smart-configuration': smartConfiguration(ports.choices),
    'openid-configuration': openidConfiguration(ports.choices),
    jwks: jwks(ports),
    token: token(ports),
    introspect: introspect(ports),
    revoke: revoke(ports),
    authorize: authorize(ports),
    login: login(ports),
    consent: consent(ports),
    account: account(ports),
    logout: logout(ports),
    style,
  }) satisfies Readonly<Record<string, Endpoint>>

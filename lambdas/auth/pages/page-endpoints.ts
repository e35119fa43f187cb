/** The pages of the authorization server: one function answers them all on AWS. */
import { type AccountPorts, account, logout } from './account-page.ts'
import { type AuthorizePorts, authorize, consent } from './authorize-page.ts'
import { type LoginPorts, login } from './login-page.ts'
import { style } from './style.ts'

export const pageEndpoints = (ports: AuthorizePorts & LoginPorts & AccountPorts) => ({
  authorize: authorize(ports),
  login: login(ports),
  consent: consent(ports),
  account: account(ports),
  logout: logout(ports),
  style,
})

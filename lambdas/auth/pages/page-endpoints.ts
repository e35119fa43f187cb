/** Endpoints that show pages to users. On AWS one function serves them all. */
import { type BrowserPorts, withBrowserCookie } from '../login/known-browsers.ts'
import { type AccountPorts, account, logout } from './account-page.ts'
import { type AuthorizePorts, authorize, consent } from './authorize-page.ts'
import { type LoginPorts, login } from './login-page.ts'
import { style } from './style.ts'

export const pageEndpoints = (ports: AuthorizePorts & LoginPorts & AccountPorts & BrowserPorts) => ({
  authorize: withBrowserCookie(ports, authorize(ports)),
  login: login(ports),
  consent: consent(ports),
  account: withBrowserCookie(ports, account(ports)),
  logout: logout(ports),
  style,
})

/** Where clients get tokens, as a CapabilityStatement says it. http://hl7.org/fhir/smart-app-launch/1.0.0/conformance/index.html#using-cs */
import type { Element } from '../../fhir/resource.ts'

const OAUTH_URIS = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris'
const SERVICES = 'http://terminology.hl7.org/CodeSystem/restful-security-service'

/**
 * The name in the extension → the path. R4's own definition names authorize, token, register and manage, and is open; SMART's, since it is for R4,
 * introspect and revoke too. https://hl7.org/fhir/smart-app-launch/STU2.1/StructureDefinition-oauth-uris.html
 */
const ENDPOINTS: readonly (readonly [string, string])[] = [
  ['authorize', 'authorize'],
  ['token', 'token'],
  ['introspect', 'introspect'],
  ['revoke', 'revoke'],
  ['manage', 'account'],
]

export const securityOf = (baseUrl: string): Element => ({
  cors: true,
  service: [{ coding: [{ system: SERVICES, code: 'SMART-on-FHIR' }] }],
  extension: [{ url: OAUTH_URIS, extension: ENDPOINTS.map(([url, path]) => ({ url, valueUri: `${baseUrl}/auth/${path}` })) }],
})

/** OAuth endpoints in the CapabilityStatement. http://hl7.org/fhir/smart-app-launch/1.0.0/conformance/index.html#using-cs */
import type { Element } from '../../fhir/resource.ts'

const OAUTH_URIS = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris'
const SERVICES = 'http://terminology.hl7.org/CodeSystem/restful-security-service'

/**
 * Name of each endpoint in the extension, and its path below `[base]/auth`. R4 names authorize, token, register and manage, and allows
 * others. SMART also names introspect and revoke. https://hl7.org/fhir/smart-app-launch/STU2.1/StructureDefinition-oauth-uris.html
 */
const ENDPOINTS: readonly (readonly [string, string])[] = [
  ['authorize', 'authorize'],
  ['token', 'token'],
  ['introspect', 'introspect'],
  ['revoke', 'revoke'],
  ['register', 'register'],
  ['manage', 'account'],
]

export const securityOf = (baseUrl: string): Element => ({
  cors: true,
  service: [{ coding: [{ system: SERVICES, code: 'SMART-on-FHIR' }] }],
  extension: [{ url: OAUTH_URIS, extension: ENDPOINTS.map(([url, path]) => ({ url, valueUri: `${baseUrl}/auth/${path}` })) }],
})

/** Requests of browsers and of other clients, by their header Accept, and the routes that lead a browser to the explorer. */

/** Header Accept of navigations. https://developer.mozilla.org/en-US/docs/Web/HTTP/Content_negotiation/List_of_default_Accept_values */
export const NAVIGATIONS = {
  Chrome:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  Firefox: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Firefox with images': 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8',
  Safari: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
}

/** Header Accept of clients that are no navigation. Undefined: the client sends none. */
export const CLIENTS: Readonly<Record<string, string | undefined>> = {
  'a client without Accept': undefined,
  'curl, fetch and Python': '*/*',
  HttpURLConnection: 'text/html, image/gif, image/jpeg, */*; q=0.2',
  'HttpURLConnection, older': 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  'the client of HAPI': 'application/fhir+xml;q=1.0, application/fhir+json;q=1.0, application/xml+fhir;q=0.9, application/json+fhir;q=0.9',
  'the client of HAPI with JSON': 'application/fhir+json;q=1.0, application/json+fhir;q=0.9',
  fhirclient: 'application/json',
  axios: 'application/json, text/plain, */*',
  'export clients': 'application/fhir+json',
  'clients of export files': 'application/fhir+ndjson',
  'an image of a page': 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
  'a client of HTML': 'text/html',
  'a client of XHTML': 'application/xhtml+xml',
  'a client of pages and JSON': 'text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8',
}

/** Routes whose navigations lead to the explorer: read, vread, history and search by GET. */
export const SHOWN_ROUTES: ReadonlySet<string> = new Set([
  'GET /',
  'GET /_history',
  'GET /{type}',
  'GET /{type}/_history',
  'GET /{type}/{id}',
  'GET /{owner}/{ownerId}/*',
  'GET /{owner}/{ownerId}/{type}',
  'GET /{type}/{id}/_history',
  'GET /{type}/{id}/_history/{versionId}',
])

const VALUES: Readonly<Record<string, string>> = { type: 'Patient', owner: 'Patient', 'proxy+': 'Patient/1' }

/** Returns a path of a route of the catalogue. */
export const pathOf = (route: string): string => route.replace(/\{([^}]+)\}/g, (_, name: string) => VALUES[name] ?? '1')

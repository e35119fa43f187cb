/** What a load sends of a file's text: every resource under its own id, references between them resolved, so that loading twice is safe. */
import { parseJson, writeJson } from '../../fhir/json.ts'
import { JsonText } from '../../fhir/json-text.ts'
import { replaceReferences } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'

/** `text`: an entry of a Bundle as JSON. */
export type LoadEntry = { readonly key: string; readonly text: string; readonly place: string }

/** A resource as it stands in a file. */
type Found = {
  readonly type: string | undefined
  readonly id: string | undefined
  readonly text: string
  readonly fullUrl?: string | undefined
}

/** Bundles are opened, whatever their type; anything else is one entry. Error: not JSON, not a resource, a resource without an id. */
export function entriesOf(text: string, place: string): readonly LoadEntry[] {
  const found = read(text)
  const keys = found.map((each) => keyOf(each))
  const known = new Map(found.flatMap(({ fullUrl }, i) => (fullUrl === undefined ? [] : [[fullUrl, keys[i]!]])))
  return found.map((each, i) => {
    const resource = resolved(withId(each, keys[i]!), known)
    return {
      key: keys[i]!,
      place: fullPlace(each, place, i),
      text: `{"resource":${resource},"request":{"method":"PUT","url":${JSON.stringify(keys[i])}}}`,
    }
  })
}

const fullPlace = ({ fullUrl }: Found, place: string, i: number): string => (fullUrl === undefined ? place : `${place}#${i}`)

/** White space between values: JSON has no line breaks inside strings. */
const INDENT = /\r?\n[ \t]*(?=["{}[\]])/g

function read(text: string): readonly Found[] {
  try {
    return resourcesOf(new JsonText(text.replace(INDENT, '')))
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    throw new Error(faultOf(text))
  }
}

function faultOf(text: string): string {
  try {
    parseJson(text)
    return 'not a FHIR resource'
  } catch (error) {
    return (error as Error).message
  }
}

/** The resources of a Bundle, or the one resource there is. */
function resourcesOf(json: JsonText): readonly Found[] {
  const inside: Found[] = []
  let hasEntries = false
  const whole = resourceAt(json, (name) => {
    if (name !== 'entry') return false
    hasEntries = true
    json.array(() => {
      const entry = entryAt(json)
      if (entry !== undefined) inside.push(entry)
    })
    return true
  })
  return whole.type === 'Bundle' && hasEntries ? inside : [whole]
}

function entryAt(json: JsonText): Found | undefined {
  let fullUrl = ''
  let resource: Found | undefined
  json.object((name) => {
    if (name === 'fullUrl') fullUrl = json.string()
    else if (name === 'resource') resource = resourceAt(json, () => false)
    else json.value()
  })
  return resource && { ...resource, fullUrl }
}

/** `visit` consumes the properties it knows and says so. */
function resourceAt(json: JsonText, visit: (name: string) => boolean): Found {
  let type: string | undefined
  let id: string | undefined
  const start = json.at
  json.object((name) => {
    if (name === 'resourceType') type = json.string()
    else if (name === 'id') id = json.string()
    else if (!visit(name)) json.value()
  })
  return { type, id, text: json.text.slice(start, json.at).trim() }
}

function keyOf({ type, id, fullUrl }: Found): string {
  if (type === undefined) throw new Error('not a FHIR resource')
  const [, ofUrl] = /([A-Za-z0-9\-.]{1,64})$/.exec(fullUrl ?? '') ?? []
  if (id === undefined && ofUrl === undefined) throw new Error(`the ${type} has no id`)
  return `${type}/${id ?? ofUrl}`
}

const withId = ({ id, text }: Found, key: string): string =>
  id === undefined ? `{"id":${JSON.stringify(key.slice(key.indexOf('/') + 1))},${text.slice(1)}` : text

const REFERENCE = /"reference"\s*:\s*"([^"\\]+)"/g

/** Other elements that can hold a reference are rare: their resources are read and written again. */
const OTHER_REFERENCE = /"(?:url|valueUr[il])"\s*:\s*"urn:(?:uuid|oid):/

function resolved(text: string, known: ReadonlyMap<string, string>): string {
  if (known.size === 0) return text
  if (OTHER_REFERENCE.test(text)) return writeJson(replaceReferences(parseJson(text) as Resource, (reference) => known.get(reference)))
  return text.replace(REFERENCE, (whole, reference: string) => {
    const key = known.get(reference)
    return key === undefined ? whole : `"reference":${JSON.stringify(key)}`
  })
}

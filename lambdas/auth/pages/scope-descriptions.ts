/** Scopes in words, for who decides about them. */
import { type Letter, parseScope, type ResourceScope } from '../../access/scopes.ts'
import { categoryOf } from '../grants/category-scopes.ts'

const NAMED: Readonly<Record<string, string>> = {
  openid: 'Know that it is you who signed in',
  fhirUser: 'Know which health record is yours',
  profile: 'Know your name here',
  offline_access: 'Keep this access also when you are not there, until you withdraw it',
  online_access: 'Keep this access as long as you are signed in',
  launch: 'Know for whom it was opened',
  'launch/patient': 'Know which patient was chosen',
  'launch/encounter': 'Know which encounter this is about',
}

const VERBS: Readonly<Record<Letter, string>> = { c: 'add', r: 'read', u: 'change', d: 'delete', s: 'search' }
const WHOSE = { patient: 'of the patient', user: 'that you can see', system: 'of everybody' }

export function wordsOf(text: string): string {
  const scope = parseScope(text)
  if (scope === undefined) return text
  if (scope.kind === 'admin') return 'Change how this server works'
  return scope.kind === 'named' ? (NAMED[scope.name] ?? text) : ofResources(scope)
}

function ofResources({ context, type, letters, query }: ResourceScope): string {
  const verbs = letters.map((letter) => VERBS[letter])
  const list = verbs.length === 1 ? verbs[0]! : `${verbs.slice(0, -1).join(', ')} and ${verbs.at(-1)}`
  const what = type === '*' ? 'all data' : `data of the kind ${type}`
  const category = categoryOf({ type, query })
  const condition = query === '' ? '' : category === undefined ? `, where ${query}` : `: ${category}`
  return `${list[0]!.toUpperCase()}${list.slice(1)} ${what} ${WHOSE[context]}${condition}`
}

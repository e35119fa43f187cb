import { describe, expect, it } from '@jest/globals'
import { narrowScopes, parseScope, splitScopes } from '../../lambdas/access/scopes.ts'

describe('A scope', () => {
  it.each([
    ['patient/Observation.read', 'patient', 'Observation', 'rs', ''],
    ['user/*.write', 'user', '*', 'cud', ''],
    ['system/Patient.*', 'system', 'Patient', 'cruds', ''],
    ['system/Patient.cruds', 'system', 'Patient', 'cruds', ''],
    ['patient/Observation.rs?category=laboratory&code=a%7Cb', 'patient', 'Observation', 'rs', 'category=laboratory&code=a%7Cb'],
    ['patient/Observation.d', 'patient', 'Observation', 'd', ''],
  ])('has parts: %s is %s for %s: %s', (text, context, type, letters, query) => {
    expect(parseScope(text)).toEqual({ kind: 'resource', context, type, letters: [...letters], query })
  })

  it.each([
    'patient/Observation.',
    'patient/Observation.sr',
    'patient/Observation.rr',
    'patient/Nonsense.read',
    'patient/observation.read',
    'patient/*.reads',
    'other/Patient.read',
    'patient/Patient',
    'patient/Patient.rs?a b',
    'patient/Patient.rs?',
    'Launch',
    'system/Admin',
    '',
  ])('is invalid as %p', (text) => expect(parseScope(text)).toBeUndefined())

  it('may be a named scope or system/admin', () => {
    expect(parseScope('launch/patient')).toEqual({ kind: 'named', name: 'launch/patient' })
    expect(parseScope('system/admin')).toEqual({ kind: 'admin' })
    expect(splitScopes(' openid  launch openid ')).toEqual(['openid', 'launch'])
  })
})

describe('Requested scopes within allowed scopes', () => {
  it.each([
    ['patient/Observation.read', 'patient/*.rs', 'patient/Observation.read'],
    ['patient/*.read', 'patient/Observation.rs', 'patient/Observation.rs'],
    ['patient/*.cruds', 'patient/Observation.rs patient/Patient.r', 'patient/Observation.rs patient/Patient.r'],
    ['patient/Observation.cruds', 'patient/*.read', 'patient/Observation.rs'],
    ['patient/Observation.rs', 'patient/Observation.rs?category=laboratory', 'patient/Observation.rs?category=laboratory'],
    ['patient/Observation.rs?a=1', 'patient/Observation.rs?b=2', 'patient/Observation.rs?a=1&b=2'],
    ['patient/Observation.rs?a=1', 'patient/*.rs', 'patient/Observation.rs?a=1'],
    ['patient/Observation.rs', 'user/*.cruds system/*.cruds', ''],
    ['patient/Observation.c', 'patient/*.rs', ''],
    ['system/admin openid', 'system/*.cruds openid', 'openid'],
    ['system/admin', 'system/admin', 'system/admin'],
    ['nonsense openid', 'nonsense openid', 'openid'],
  ])('are narrowed: %s within %s is: %s', (asked, allowed, granted) => {
    expect(narrowScopes(splitScopes(asked), splitScopes(allowed)).join(' ')).toBe(granted)
  })

  it('keep their context within a wider one', () => {
    const asked = ['patient/*.read', 'openid', 'system/admin']
    expect(narrowScopes(asked, ['user/Observation.rs'], 'wider')).toEqual(['patient/Observation.rs', 'openid'])
    expect(narrowScopes(['user/*.rs'], ['system/Observation.rs'], 'wider')).toEqual(['user/Observation.rs'])
  })

  it('are empty within a narrower context, except for alike, and never system scopes', () => {
    expect(narrowScopes(['user/*.rs', 'openid'], ['patient/Observation.rs'], 'wider')).toEqual(['openid'])
    expect(narrowScopes(['user/*.rs', 'openid'], ['patient/Observation.rs'], 'alike')).toEqual(['user/Observation.rs', 'openid'])
    expect(narrowScopes(['system/*.rs'], ['patient/*.rs', 'user/*.rs'], 'alike')).toEqual([])
  })

  it.each([
    ['patient/*.rs', 'patient/Observation.rs?a=1&b=2 patient/Observation.r?c=3', 'user/*.cruds?b=2 patient/Observation.rs?d=4'],
    ['user/Observation.read?b=2', 'user/*.rs?a=1', 'user/Observation.rs?b=2 user/Observation.rs?a=1'],
  ])('are the same if narrowed twice: %s within %s, within %s', (asked, first, second) => {
    const narrowed = (scopes: readonly string[]) => narrowScopes(narrowScopes(scopes, splitScopes(first)), splitScopes(second), 'wider')
    const once = narrowed([asked])
    expect(once.length).toBeGreaterThan(0)
    expect(narrowed(once)).toEqual(once)
  })
})

/** The evaluation of permissions in tests decides as IAM does. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html */
import { describe, expect, it } from '@jest/globals'
import { ARNS, isAllowed, isFunctionAllowed, type Statement } from './iam.ts'

const TABLE = 'arn:aws:dynamodb:us-east-1:1:table/t'
const allow = (rest: Partial<Statement>): Statement => ({ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE, ...rest })
const read = (context?: Record<string, string | string[]>) => ({
  action: 'dynamodb:GetItem',
  resource: TABLE,
  ...(context === undefined ? {} : { context }),
})

describe('a call', () => {
  it('is denied when nothing allows it', () => expect(isAllowed([], read())).toBe(false))

  it('is allowed by a statement that names its action and its resource', () => {
    expect(isAllowed([allow({})], read())).toBe(true)
    expect(isAllowed([allow({})], { ...read(), action: 'dynamodb:PutItem' })).toBe(false)
    expect(isAllowed([allow({})], { ...read(), resource: `${TABLE}/index/i` })).toBe(false)
  })

  it('is denied by a denial, whatever allows it', () => expect(isAllowed([allow({}), allow({ Effect: 'Deny' })], read())).toBe(false))

  it('is allowed by one of several actions, in upper or lower case', () =>
    expect(isAllowed([allow({ Action: ['dynamodb:Query', 'DynamoDB:getitem'] })], read())).toBe(true))
})

describe('a resource', () => {
  it('may have wildcards, which reach over slashes', () => {
    const statements = [allow({ Resource: ['arn:aws:s3:::b/overflow/*', `${TABLE}/index/?`] })]
    expect(isAllowed(statements, { ...read(), resource: 'arn:aws:s3:::b/overflow/a/b' })).toBe(true)
    expect(isAllowed(statements, { ...read(), resource: 'arn:aws:s3:::b/queries/a' })).toBe(false)
    expect(isAllowed(statements, { ...read(), resource: `${TABLE}/index/i` })).toBe(true)
    expect(isAllowed(statements, { ...read(), resource: `${TABLE}/index/ii` })).toBe(false)
  })

  it('has no other special characters', () =>
    expect(isAllowed([allow({ Resource: 'arn:aws:s3:::a.c' })], { ...read(), resource: 'arn:aws:s3:::abc' })).toBe(false))
})

describe('a condition', () => {
  const leading = (operator: string, ...keys: string[]) => [allow({ Condition: { [operator]: { 'dynamodb:LeadingKeys': keys } } })]

  it('compares texts', () => {
    expect(isAllowed(leading('StringEquals', 'A', 'B'), read({ 'dynamodb:LeadingKeys': 'B' }))).toBe(true)
    expect(isAllowed(leading('StringEquals', 'A*'), read({ 'dynamodb:LeadingKeys': 'AB' }))).toBe(false)
    expect(isAllowed(leading('StringLike', 'A*'), read({ 'dynamodb:LeadingKeys': 'AB' }))).toBe(true)
  })

  it('applies to all values or to any value', () => {
    const keys = { 'dynamodb:LeadingKeys': ['AUDIT#1', 'SEAL'] }
    expect(isAllowed(leading('ForAllValues:StringLike', 'AUDIT#*'), read(keys))).toBe(false)
    expect(isAllowed(leading('ForAnyValue:StringLike', 'AUDIT#*'), read(keys))).toBe(true)
    expect(isAllowed(leading('ForAllValues:StringLike', 'AUDIT#*', 'SEAL'), read(keys))).toBe(true)
  })

  it('fails if its key is missing, except with ForAllValues and IfExists', () => {
    expect(isAllowed(leading('StringEquals', 'A'), read())).toBe(false)
    expect(isAllowed(leading('ForAllValues:StringEquals', 'A'), read())).toBe(true)
    expect(isAllowed(leading('StringEqualsIfExists', 'A'), read())).toBe(true)
    expect(isAllowed(leading('StringEqualsIfExists', 'A'), read({ 'dynamodb:LeadingKeys': 'B' }))).toBe(false)
  })

  it('compares ARNs part by part', () => {
    const role = [allow({ Condition: { ArnLike: { 'aws:PrincipalArn': 'arn:aws:iam::1:role/fhir-dev/*' } } })]
    expect(isAllowed(role, read({ 'aws:PrincipalArn': 'arn:aws:iam::1:role/fhir-dev/read' }))).toBe(true)
    expect(isAllowed(role, read({ 'aws:PrincipalArn': 'arn:aws:iam::1:role/other/read' }))).toBe(false)
    const any = [allow({ Condition: { ArnLike: { 'aws:PrincipalArn': 'arn:*:role/fhir' } } })]
    expect(isAllowed(any, read({ 'aws:PrincipalArn': 'arn:aws:iam::1:role/fhir' }))).toBe(false)
  })

  it('needs every operator and every key', () => {
    const both = [allow({ Condition: { StringEquals: { a: '1', b: '2' } } })]
    expect(isAllowed(both, read({ a: '1' }))).toBe(false)
    expect(isAllowed(both, read({ a: '1', b: '2' }))).toBe(true)
  })
})

describe('an unsupported element', () => {
  it.each([
    ['NotAction', { NotAction: 'dynamodb:PutItem' }],
    ['NotResource', { NotResource: '*' }],
    ['Principal', { Principal: '*' }],
    ['NumericLessThan', { Condition: { NumericLessThan: { 'aws:MultiFactorAuthAge': '60' } } }],
  ])('is rejected: %s', (name, rest) => expect(() => isAllowed([allow(rest)], read())).toThrow(name))
})

describe('a template', () => {
  const template = {
    Resources: {
      F: { Type: 'AWS::Lambda::Function', Properties: { Handler: 'read.handler', Role: { 'Fn::GetAtt': ['R', 'Arn'] } } },
      R: {
        Type: 'AWS::IAM::Role',
        Properties: {
          Policies: [
            {
              PolicyDocument: {
                Statement: [
                  allow({ Resource: { 'Fn::ImportValue': 'data:ExportsOutputFnGetAttResourceTableCFB86F30ArnCA3FBA65' } }),
                  allow({
                    Action: 's3:GetObject',
                    Resource: { 'Fn::Join': ['', [{ 'Fn::GetAtt': ['DataBucketE3889A50', 'Arn'] }, '/overflow/*']] },
                  }),
                ],
              },
            },
          ],
        },
      },
      P: {
        Type: 'AWS::IAM::Policy',
        Properties: {
          Roles: [{ Ref: 'R' }],
          PolicyDocument: { Statement: allow({ Action: 'states:StartExecution', Resource: { Ref: 'RebuildMachine3716AD8D' } }) },
        },
      },
    },
  }

  it('is evaluated by the policies of the role of a function', () => {
    expect(isFunctionAllowed(template, 'read', { action: 'dynamodb:GetItem', resource: ARNS.ResourceTable })).toBe(true)
    expect(isFunctionAllowed(template, 'read', { action: 'dynamodb:GetItem', resource: ARNS.StateTable })).toBe(false)
    expect(isFunctionAllowed(template, 'read', { action: 's3:GetObject', resource: `${ARNS.DataBucket}/overflow/x` })).toBe(true)
    expect(isFunctionAllowed(template, 'read', { action: 'states:StartExecution', resource: ARNS.RebuildMachine })).toBe(true)
  })

  it('must have a function of that name', () =>
    expect(() => isFunctionAllowed(template, 'write', { action: 's3:GetObject', resource: '*' })).toThrow('no function write'))
})

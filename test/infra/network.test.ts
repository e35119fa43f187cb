/** Services that functions in a VPC reach. */
import { expect, it } from '@jest/globals'
import { functionsOf, resourcesOfType } from './assembly.ts'
import { demo, production } from './stages.ts'

const urlOf = ({ service }: typeof demo): unknown => functionsOf(service).indexer!.Environment.Variables.AWS_ENDPOINT_URL_DYNAMODB_STREAMS

it('The indexer reaches DynamoDB Streams by the name of its endpoint, which has no private name', () => {
  const endpoints = Object.entries(resourcesOfType(production.data, 'AWS::EC2::VPCEndpoint'))
  const [id, endpoint] = endpoints.find(([, each]) => JSON.stringify(each.ServiceName).includes('dynamodb-streams'))!
  expect([endpoint.VpcEndpointType, endpoint.PrivateDnsEnabled]).toEqual(['Interface', false])
  expect(JSON.stringify(production.data.Outputs)).toContain(`"Fn::GetAtt":["${id}","DnsEntries"]`)
  expect(JSON.stringify(urlOf(production))).toContain('https://')
  expect(urlOf(demo)).toBeUndefined()
})

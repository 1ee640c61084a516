-- For wrk: one small task in each request.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"name":"report","type":"report.make","parameters":{"customer":4711,"format":"pdf"}}'

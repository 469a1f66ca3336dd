// Package files takes the pictures and documents of prompts: uploads, and files that a prompt names by their path.
//
//	file, err := service.Upload(ctx, tenant, "photo.jpg", size, body)
//	parts, err := service.Resolve(ctx, files.For{Tenant: tenant, Request: request}, parts)
//
// The bytes of a file say what it is: see [domain.MediaTypeOf]. A path is judged by the policy of its execution like a call of the tool `read`, opened in
// the execution's environment, and read once, so that a file that changes later does not change what the model was asked.
//
// All methods may be called at once. The bytes that they hold in memory together are bounded; a call that finds no room waits, and is
// [domain.CodeOverloaded] after a while.
package files

// Package runbooks knows the types of a runbook's blocks, and checks the blocks that agents write.
//
// # The model
//
// A block is an object with a type and props; what more there is in a document is its client's. The types come from the
// registry of the server and from the request, see [Merge]. [Compile] reads them, and [Types.CheckBlocks] holds what a
// model wrote against them. The names of the tools by which an assistant changes a document are here, too: both who takes requests and
// who runs the assistant go by them.
//
// # Promises
//
//   - What CheckBlocks takes is a list of 1 to 100 blocks, each of a known type, whose props fit the schema of the type. Where no
//     types are known, any is. Further fields of a block, such as its content, are its client's.
//   - Its errors are for a model that has to repair its blocks: each place has a JSON pointer and a sentence that names what
//     belongs there. The list of places is bounded.
//   - Types that a client sends are hostile until they are compiled: package schema bounds what checking costs.
//
// # Use
//
//	types, err := runbooks.Compile(runbooks.Merge(request.BlockTypes, registry))
//	if details := types.CheckBlocks(blocks); len(details) > 0 {
//		// the model gets the errors, and tries again
//	}
package runbooks
